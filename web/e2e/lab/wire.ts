// A wire between browser and server that can be cut.
import { type AddressInfo, type Socket, createServer, connect } from "node:net";
import { once } from "node:events";

export class Wire {
  private readonly sockets = new Set<Socket>();
  private isCut = false;
  private readonly listener = createServer((from) => {
    if (this.isCut) {
      from.destroy();
      return;
    }
    const to = connect(Number(new URL(this.target).port), "127.0.0.1");
    for (const [one, other] of [[from, to], [to, from]] as const) {
      this.sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  });

  private constructor(private readonly target: string) {}

  static async to(target: string): Promise<Wire> {
    const wire = new Wire(target);
    wire.listener.listen(0, "127.0.0.1");
    await once(wire.listener, "listening");
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }

  /** Every connection breaks at once, and no new one can be made until it is restored. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  async remove(): Promise<void> {
    this.cut();
    this.listener.close();
    await once(this.listener, "close");
  }
}
