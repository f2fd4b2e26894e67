// The stream of a container without a terminal carries both outputs in frames: one byte says which, four bytes say how long.

export type OutputName = "stdout" | "stderr";

export interface Frame {
  readonly stream: OutputName;
  readonly bytes: Buffer;
}

const headerBytes = 8;

/** Whole frames only, however the bytes are cut: for logs, where a frame is a message. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (data.length >= headerBytes) {
      const end = headerBytes + data.readUInt32BE(4);
      if (data.length < end) break;
      frames.push({ stream: streamOf(data), bytes: data.subarray(headerBytes, end) });
      data = data.subarray(end);
    }
    this.#rest = data;
    return frames;
  }
}

/** Bytes as they come, also of frames that are not whole yet: for sessions, where nothing may wait. */
export class FrameSplitter {
  #header: Buffer = Buffer.alloc(0);
  #stream: OutputName = "stdout";
  #left = 0;

  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let data = chunk;
    while (data.length > 0) {
      if (this.#left > 0) {
        const bytes = data.subarray(0, this.#left);
        frames.push({ stream: this.#stream, bytes });
        this.#left -= bytes.length;
        data = data.subarray(bytes.length);
        continue;
      }
      const missing = headerBytes - this.#header.length;
      this.#header = Buffer.concat([this.#header, data.subarray(0, missing)]);
      data = data.subarray(missing);
      if (this.#header.length < headerBytes) break;
      this.#stream = streamOf(this.#header);
      this.#left = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return frames;
  }
}

const streamOf = (header: Buffer): OutputName => (header[0] === 2 ? "stderr" : "stdout");
