// How a row of the conversation is unfolded and folded.

/**
 * A click on the summary of a row. The state changes with the click: the browser reports a fold in a later task, and a
 * row that is drawn again before that, because an event has arrived, would be as it was before the click.
 */
export function fold(event: Event, isOpen: boolean, setOpen: (isOpen: boolean) => void): void {
  event.preventDefault();
  setOpen(!isOpen);
}
