// The place the page is at, as the address says it.
import { type Route, href, parseRoute } from "./route.ts";

class Place {
  route = $state.raw<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

  constructor() {
    if (typeof window !== "undefined") {
      window.addEventListener("hashchange", () => (this.route = parseRoute(location.hash)));
    }
  }

  /** Goes there; going back leads to where one was. */
  go(route: Route): void {
    location.hash = href(route);
  }

  /** The same place, more precisely: it adds no entry to go back to. */
  refine(route: Route): void {
    history.replaceState(history.state, "", href(route));
    this.route = route;
  }
}

export const place = new Place();
