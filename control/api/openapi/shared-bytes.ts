// SharedBytes makes a document once for all who are sent it at the same time, and keeps it no longer than they hold it: large
// documents are asked for rarely, and then often by many.

export class SharedBytes {
  readonly #bytesByKey = new Map<string, WeakRef<Buffer>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (!this.#bytesByKey.get(key)?.deref()) this.#bytesByKey.delete(key);
  });

  /** Never changed by anyone. */
  get(key: string, make: () => Buffer): Buffer {
    const known = this.#bytesByKey.get(key)?.deref();
    if (known) return known;
    const bytes = make();
    this.#bytesByKey.set(key, new WeakRef(bytes));
    this.#gone.register(bytes, key);
    return bytes;
  }
}
