// Where the page begins.
import { mount } from "svelte";
import App from "./app/App.svelte";
import { speech } from "./words/language.svelte.ts";
import "./styles/tokens.css";
import "./styles/base.css";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has lost its #app");
await speech.begin();
mount(App, { target });
