// A zip file, stored and not packed: all that a skill needs.
import { crc32 } from "node:zlib";

export function zip(files: Record<string, string>): Blob {
  const parts: Buffer[] = [];
  const index: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, body] = [Buffer.from(name), Buffer.from(text)];
    const about = Buffer.alloc(26);
    // Version, flags, way of packing, time and date, then the sum and both sizes and the length of the name.
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(0x0800, 2);
    about.writeUInt32LE(crc32(body), 10);
    about.writeUInt32LE(body.length, 14);
    about.writeUInt32LE(body.length, 18);
    about.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), about, path, body]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    index.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), about, rest, path]));
    parts.push(local);
    at += local.length;
  }
  const central = Buffer.concat(index);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(index.length, 8);
  end.writeUInt16LE(index.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return new Blob([Buffer.concat([...parts, central, end])], { type: "application/zip" });
}
