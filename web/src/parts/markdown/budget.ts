// How much of a message is drawn as Markdown: the number of nodes, the depth, and the number of lines parsed again
// inside of a block.

const DEEPEST = 24;
/** Lines inside of lists and quotes, counted at every level. Very many very short lines, deep inside, would take seconds. */
const MOST_LINES = 60_000;

export class Budget {
  private depth = 0;
  private lines = 0;
  spent = 0;

  constructor(private readonly most: number) {}

  get isSpent(): boolean {
    return this.spent >= this.most;
  }

  get left(): number {
    return Math.max(0, this.most - this.spent);
  }

  spend(): void {
    this.spent += 1;
  }

  /** The result of parsing these lines inside of a block, or plain text if the depth or the budget is exceeded. */
  deeper<Made>(lines: number, make: () => Made, plain: () => Made): Made {
    if (this.depth >= DEEPEST || this.spent >= this.most * 2 || this.lines + lines > MOST_LINES) return plain();
    this.lines += lines;
    this.depth += 1;
    try {
      return make();
    } finally {
      this.depth -= 1;
    }
  }
}
