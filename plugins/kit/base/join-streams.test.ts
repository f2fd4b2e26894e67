import { Duplex } from "node:stream";
import t from "tap";
import { FakeClock } from "./clock.ts";
import { joinStreams } from "./join-streams.ts";

/** A side of a connection whose peer is the test: `say` and `hangUp` are the peer's, `heard` is what it was told. */
class Side extends Duplex {
  heard = "";
  /** Writes wait until the test lets them through, as those of a socket that is behind. */
  #waiting: (() => void)[] | undefined;

  constructor(options: { isSlow?: boolean; allowHalfOpen?: boolean } = {}) {
    super({ allowHalfOpen: options.allowHalfOpen ?? true });
    if (options.isSlow) this.#waiting = [];
  }

  say(text: string): void {
    this.push(text);
  }

  hangUp(): void {
    this.push(null);
  }

  letThrough(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const write of waiting) write();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const write = () => {
      this.heard += chunk.toString();
      done();
    };
    if (this.#waiting) this.#waiting.push(write);
    else write();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test("joinStreams() carries both ways, and passes an end on as one", async (t) => {
  const [one, other] = [new Side(), new Side()];
  const joined = joinStreams(one, other, new FakeClock());
  one.say("a question");
  one.hangUp();
  await turn();
  t.equal(other.heard, "a question");
  t.ok(other.writableEnded, "its end was passed on");
  other.say("an answer");
  await turn();
  t.equal(one.heard, "an answer", "the other half is still open");
  other.hangUp();
  await joined;
  t.ok(one.destroyed && other.destroyed);
});

t.test("joinStreams() delivers the last words of a side that breaks right after them", async (t) => {
  const [one, other] = [new Side({ isSlow: true }), new Side()];
  const joined = joinStreams(one, other, new FakeClock());
  other.say("exit code 0");
  await turn();
  other.destroy(new Error("reset by peer"));
  await turn();
  t.notOk(one.destroyed, "it still has something to take in");
  one.letThrough();
  one.hangUp();
  await joined;
  t.equal(one.heard, "exit code 0");
});

t.test("joinStreams() delivers them also when the other side talks on after the end", async (t) => {
  // A side that cannot be half open ends its writing half by itself: what comes then is a write after the end.
  const [one, other] = [new Side({ isSlow: true }), new Side({ allowHalfOpen: false })];
  const joined = joinStreams(one, other, new FakeClock());
  other.say("exit code 0");
  other.hangUp();
  one.say("a credit that comes too late");
  await turn();
  await turn();
  one.letThrough();
  one.hangUp();
  await joined;
  t.equal(one.heard, "exit code 0");
});

t.test("joinStreams() lets go of a side that does not end", async (t) => {
  const clock = new FakeClock();
  const [one, other] = [new Side(), new Side()];
  const joined = joinStreams(one, other, clock);
  other.destroy();
  await turn();
  one.say("is anybody there?");
  await clock.advance(9_999);
  t.notOk(one.destroyed);
  await clock.advance(1);
  await joined;
  t.ok(one.destroyed);
});

t.test("joinStreams() ends a side whose counterpart was gone before", async (t) => {
  const [one, other] = [new Side(), new Side()];
  other.destroy();
  await turn();
  const joined = joinStreams(one, other, new FakeClock());
  await turn();
  t.ok(one.writableEnded);
  one.hangUp();
  await joined;
  t.pass("it is over");
});
