//! `/docs`: what can be asked, for people, made from the same description as `/openapi.json`.

use std::sync::OnceLock;

use serde_json::Value;

use crate::openapi;

/// Made once: it does not change while the program runs.
pub(super) fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| render(&openapi::document()))
}

fn render(document: &Value) -> String {
    let mut body = String::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            body += &one(path, method, operation);
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>skillrun API</title>\n\
         <link rel=\"stylesheet\" href=\"/page.css\">\n<main>\n<h1>skillrun API</h1>\n\
         <p>Everything here is in <a href=\"/openapi.json\"><code>/openapi.json</code></a> too. Programs send a token as \
         <code>Authorization: Bearer TOKEN</code>.</p>\n{body}</main>\n"
    )
}

fn one(path: &str, method: &str, operation: &Value) -> String {
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let mut html = format!(
        "<section>\n<h2><code>{} {}</code></h2>\n<p>{}. {}</p>\n<table>\n",
        method.to_uppercase(),
        escaped(path),
        text(&operation["summary"]),
        text(&operation["description"]).replace('`', ""),
    );
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let place = text(&parameter["in"]);
        html += &format!(
            "<tr><td><code>{}</code> <small>{place}</small></td><td>{}</td></tr>\n",
            text(&parameter["name"]),
            text(&parameter["description"])
        );
    }
    for media in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        html += &format!("<tr><td>body</td><td><code>{}</code>", escaped(media.0));
        if let Some(example) = media.1.get("example") {
            html += &format!(", such as <code>{}</code>", escaped(&example.to_string()));
        }
        html += "</td></tr>\n";
    }
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        html += &format!("<tr><td>{}</td><td>{}</td></tr>\n", escaped(status), text(&answer["description"]));
    }
    html + "</table>\n</section>\n"
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}
