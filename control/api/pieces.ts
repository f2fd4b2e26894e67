// Pieces gathers a large answer in blocks of bytes. One long text would be made, copied and thrown away whole, and the
// memory for it would stay with the process.

const blockBytes = 128 * 1024;

export class Pieces {
  readonly #full: Buffer[] = [];
  #block = Buffer.allocUnsafe(blockBytes);
  #at = 0;

  text(value: string): void {
    // No character takes more than three bytes per unit of UTF-16.
    this.#room(value.length * 3);
    this.#at += this.#block.write(value, this.#at);
  }

  bytes(value: Buffer, from: number, to: number): void {
    this.#room(to - from);
    this.#at += value.copy(this.#block, this.#at, from, to);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#block.length) return;
    if (this.#at > 0) this.#full.push(this.#block.subarray(0, this.#at));
    this.#block = Buffer.allocUnsafe(Math.max(blockBytes, bytes));
    this.#at = 0;
  }

  /** What was written; nothing may be written after. */
  parts(): Buffer[] {
    return [...this.#full, this.#block.subarray(0, this.#at)];
  }
}
