// The time, once a second, for what counts down or up. Reading `clock.now` in a template keeps it ticking there.

class Clock {
  now = $state(Date.now());

  constructor() {
    if (typeof window !== "undefined") setInterval(() => (this.now = Date.now()), 1_000);
  }
}

export const clock = new Clock();
