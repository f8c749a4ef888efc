// How much of a message is drawn as Markdown: so many nodes, so deep.

const DEEPEST = 24;

export class Budget {
  private depth = 0;
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

  /** What is inside of something, or something plain where it is too deep or too much already. */
  deeper<Made>(make: () => Made, plain: () => Made): Made {
    if (this.depth >= DEEPEST || this.spent >= this.most * 2) return plain();
    this.depth += 1;
    try {
      return make();
    } finally {
      this.depth -= 1;
    }
  }
}
