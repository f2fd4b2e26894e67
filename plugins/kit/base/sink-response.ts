// A Response whose body is pushed by its maker as things happen (watches): the server lets it write to the connection
// directly, and a reader in the same process gets it as a stream.

/** Where a pushed body goes. */
export interface Sink {
  /** The bytes belong to the sink: they are never changed again. */
  write(chunk: Uint8Array): void;
  end(): void;
  /** Bytes taken but not yet on their way; grows when the client reads too slowly. */
  readonly buffered: number;
  /** Resolves when the client has read most of what was written, or is gone. */
  drained(): Promise<void>;
  /** Runs once when the client went away or the body ended. */
  onClose(then: () => void): void;
}

export class SinkResponse extends Response {
  /** Begins to push; called once, by whoever carries the body. */
  readonly start: (sink: Sink) => void;

  constructor(start: (sink: Sink) => void, init?: ResponseInit) {
    super(null, init);
    this.start = start;
    let stream: ReadableStream<Uint8Array> | undefined;
    // As an own property: some runtimes read a response's body through its class, where there is none.
    Object.defineProperty(this, "body", { get: () => (stream ??= streamOf(start)), configurable: true });
  }

  override async text(): Promise<string> {
    return new Response(this.body).text();
  }
}

function streamOf(start: (sink: Sink) => void): ReadableStream<Uint8Array> {
  const closers: Array<() => void> = [];
  let isOpen = true;
  let isWanted = Promise.withResolvers<void>();
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    isWanted.resolve();
    for (const closer of closers) closer();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        start({
          write: (chunk) => {
            if (isOpen) controller.enqueue(chunk);
          },
          end: () => {
            if (!isOpen) return;
            close();
            controller.close();
          },
          get buffered() {
            return -(controller.desiredSize ?? 0);
          },
          drained: () => ((controller.desiredSize ?? 0) >= 0 ? Promise.resolve() : isWanted.promise),
          onClose: (then) => closers.push(then),
        });
      },
      pull() {
        isWanted.resolve();
        isWanted = Promise.withResolvers();
      },
      cancel: close,
    },
    { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}
