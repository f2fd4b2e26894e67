import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { uninterrupted, within } from "../../base/call.ts";
import { isFault } from "../../base/fault.ts";
import { DbusConnection } from "./connection.ts";
import { MessageFraming } from "./framing.ts";
import { marshal } from "./marshal.ts";
import { type DbusMessage, decodeMessage, encodeMessage, messageLength } from "./message.ts";
import { parseSignature } from "./signature.ts";
import { unmarshal } from "./unmarshal.ts";
import { type DbusValue, Variant } from "./values.ts";

t.test("parseSignature() takes what the specification allows", async (t) => {
  for (const text of ["", "s", "a(sv)", "a{sv}", "a(sa(sv))", "(ybnqiuxtdsogh)", "aaay", "v", `${"a".repeat(32)}y`])
    t.doesNotThrow(() => parseSignature(text), text);
  const bad = [
    "a",
    "(",
    "()",
    ")",
    "{sv}",
    "a{vs}",
    "a{s}",
    "a{ssi}",
    "z",
    "(i",
    `${"a".repeat(33)}y`,
    "s".repeat(256),
  ];
  for (const text of bad) t.throws(() => parseSignature(text), { code: "invalid" }, text);
});

t.test("marshal() writes as the specification has it", async (t) => {
  // A byte, then three of padding, then an integer; a text with its length and its zero; an array without items keeps its padding.
  t.equal(marshal("yu", [1, 2]).toString("hex"), "0100000002000000");
  t.equal(marshal("s", ["foo"]).toString("hex"), "03000000666f6f00");
  t.equal(marshal("at", [[]]).toString("hex"), "0000000000000000");
  t.equal(marshal("v", [new Variant("t", 5n)]).toString("hex"), "01740000000000000500000000000000");
  t.equal(marshal("a{yb}", [new Map([[1, true]])]).toString("hex"), "08000000000000000100000001000000");
});

t.test("marshal() refuses what does not fit", async (t) => {
  const rows: [string, DbusValue][] = [
    ["y", 256],
    ["n", -32_769],
    ["u", -1],
    ["u", 1.5],
    ["t", 5],
    ["t", 1n << 64n],
    ["b", 1],
    ["s", "a\0b"],
    ["o", "no/path"],
    ["g", "("],
    ["as", "text"],
    ["(ss)", ["one"]],
    ["v", 1],
    ["a{ss}", []],
    ["ay", [1]],
    ["v", new Variant("ss", "a")],
  ];
  for (const [signature, value] of rows) t.throws(() => marshal(signature, [value]), { code: "invalid" }, signature);
  t.throws(() => marshal("ss", ["one"]), { code: "invalid" });
});

/** A signature with a value that fits. */
const typed: fc.Arbitrary<{ signature: string; value: DbusValue }> = fc
  .letrec<{ any: { signature: string; value: DbusValue } }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      ...basic("y", fc.nat(255)),
      ...basic("n", fc.integer({ min: -32_768, max: 32_767 })),
      ...basic("q", fc.nat(65_535)),
      ...basic("i", fc.integer()),
      ...basic("u", fc.nat(0xffffffff)),
      ...basic("x", fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })),
      ...basic("t", fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })),
      ...basic("d", fc.double({ noNaN: true })),
      ...basic("b", fc.boolean()),
      ...basic(
        "s",
        fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
      ),
      ...basic("o", fc.stringMatching(/^(\/[A-Za-z0-9_]{1,8}){1,4}$/)),
      ...basic("ay", fc.uint8Array({ maxLength: 20 })),
      tie("any").map(({ signature, value }) => ({ signature: "v", value: new Variant(signature, value) as DbusValue })),
      fc.array(tie("any"), { minLength: 1, maxLength: 4 }).map((fields) => ({
        signature: `(${fields.map(({ signature }) => signature).join("")})`,
        value: fields.map(({ value }) => value) as DbusValue,
      })),
      fc
        .tuple(tie("any"), fc.nat(3))
        .map(([{ signature, value }, count]) =>
          signature === "y"
            ? { signature: "ay", value: new Uint8Array(count) as DbusValue }
            : { signature: `a${signature}`, value: Array.from({ length: count }, () => value) as DbusValue },
        ),
      fc
        .tuple(tie("any"), fc.uniqueArray(fc.string({ maxLength: 5 }), { maxLength: 4 }))
        .map(([{ signature, value }, keys]) => ({
          signature: `a{s${signature}}`,
          value: new Map(keys.map((key) => [key, value])) as DbusValue,
        })),
    ),
  }))
  .any.filter(({ signature }) => signature.length < 200);

function basic(signature: string, values: fc.Arbitrary<DbusValue>) {
  return [values.map((value) => ({ signature, value }))];
}

t.test("unmarshal() gives back what marshal() was given", async (t) => {
  fc.assert(
    fc.property(typed, ({ signature, value }) => {
      const bytes = marshal(signature, [value]);
      const { values, end } = unmarshal(signature, bytes);
      return end === bytes.length && t.same(values, [value]);
    }),
    { numRuns: 300 },
  );
});

t.test("marshal() grows with what is written", async (t) => {
  const value = Array.from({ length: 500 }, (_, index) => [`name ${index}`, new Variant("t", BigInt(index))]);
  t.same(unmarshal("a(sv)", marshal("a(sv)", [value])).values, [value]);
  t.same(unmarshal("ayd", marshal("ayd", [new Uint8Array(1000).fill(3), 0.5])).values, [
    new Uint8Array(1000).fill(3),
    0.5,
  ]);
});

t.test("unmarshal() answers any bytes with values or a Fault", async (t) => {
  const signatures = fc.constantFrom("a(sv)", "a{sv}", "v", "(ybnqiuxtdsogh)", "aas", "yyyyuua(yv)");
  fc.assert(
    fc.property(signatures, fc.uint8Array({ maxLength: 80 }), fc.boolean(), (signature, bytes, isLittle) => {
      try {
        unmarshal(signature, bytes, isLittle);
        return true;
      } catch (error) {
        return isFault(error, "invalid");
      }
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

t.test("unmarshal() reads the other byte order, too", async (t) => {
  t.same(unmarshal("us", Buffer.from("00000007000000026f6b00", "hex"), false).values, [7, "ok"]);
});

const signal: DbusMessage = {
  kind: "signal",
  serial: 7,
  path: "/org/freedesktop/login1",
  interface: "org.freedesktop.login1.Manager",
  member: "PrepareForShutdown",
  sender: ":1.4",
  signature: "b",
  body: [true],
};

t.test("MessageFraming cuts messages out of pieces of any size", async (t) => {
  const bytes = Buffer.concat([signal, { ...signal, serial: 8, body: [false] }].map(encodeMessage));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
      const framing = new MessageFraming();
      const found: DbusMessage[] = [];
      for (let at = 0, piece = 0; at < bytes.length; piece++) {
        const size = sizes[piece % sizes.length] ?? 1;
        found.push(...framing.add(bytes.subarray(at, at + size)));
        at += size;
      }
      return found.map(({ serial }) => serial).join() === "7,8" && found[1]?.body?.[0] === false;
    }),
    { numRuns: 100 },
  );
  t.match(decodeMessage(encodeMessage(signal)), signal);
});

t.test("messageLength() refuses what is no message", async (t) => {
  t.equal(messageLength(Buffer.from("l")), undefined);
  t.throws(() => messageLength(Buffer.from("GET / HTTP/1.1\r\n")), { code: "invalid" });
  const huge = Buffer.from(encodeMessage(signal));
  huge.writeUInt32LE(0x7fffffff, 4);
  t.throws(() => messageLength(huge), { code: "invalid" });
});

/** A bus of one: what it is sent after the log-in goes to `answer`. */
async function bus(t: { teardown(then: () => void): void }, answer: (message: DbusMessage, socket: Socket) => void) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-dbus-"));
  const path = join(dir, "socket");
  const server = createServer((socket) => {
    let isIn = false;
    const framing = new MessageFraming();
    socket.on("data", (bytes: Buffer) => {
      if (!isIn && /^\0AUTH EXTERNAL [0-9a-f]+\r\nBEGIN\r\n$/.test(bytes.toString("latin1"))) {
        isIn = true;
        socket.write("OK 0123\r\n");
      } else for (const message of framing.add(bytes)) answer(message, socket);
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(() => {
    server.close();
    rmSync(dir, { recursive: true });
  });
  return { path, server };
}

const method = { destination: "a.b", path: "/a", interface: "a.b", member: "C" };
let serial = 100;
const reply = (to: DbusMessage, more: Partial<DbusMessage> = {}) =>
  encodeMessage({ kind: "reply", serial: serial++, replySerial: to.serial, ...more });

t.test("DbusConnection answers calls out of order, and tells refusals", async (t) => {
  const held: DbusMessage[] = [];
  const { path } = await bus(t, (message, socket) => {
    if (message.member === "Hello") socket.write(reply(message, { signature: "s", body: [":1.1"] }));
    else if (message.member === "Fail")
      socket.write(
        encodeMessage({
          kind: "error",
          serial: serial++,
          replySerial: message.serial,
          errorName: "org.freedesktop.systemd1.UnitExists",
          signature: "s",
          body: ["Unit x.slice already exists."],
        }),
      );
    else if (held.push(message) === 2)
      for (const one of held.reverse()) socket.write(reply(one, { signature: "s", body: [one.body?.[0] as string] }));
  });
  const connection = await DbusConnection.open({ path, hasBus: true }, within(5000));
  const ask = (text: string) => connection.call({ ...method, signature: "s", body: [text] }, within(5000));
  t.same(await Promise.all([ask("one"), ask("two")]), [["one"], ["two"]]);
  await t.rejects(connection.call({ ...method, member: "Fail" }, uninterrupted), {
    code: "already-exists",
    message: "Cannot call a.b.Fail of /a: Unit x.slice already exists.",
  });
  connection.close();
  await connection.closed;
  await t.rejects(ask("three"), { code: "unavailable" });
});

t.test("DbusConnection tells signals to those who listen, and refuses calls", async (t) => {
  const seen: DbusMessage[] = [];
  const { path } = await bus(t, (message, socket) => {
    seen.push(message);
    if (message.kind !== "call") return;
    socket.write(reply(message));
    if (message.member !== "AddMatch") return;
    socket.write(encodeMessage({ ...signal, member: "Other" }));
    socket.write(encodeMessage(signal));
    socket.write(
      encodeMessage({ kind: "call", serial: 5, path: "/", interface: "x.y", member: "Ping", sender: ":1.9" }),
    );
  });
  const connection = await DbusConnection.open({ path, hasBus: true }, within(5000));
  t.teardown(() => connection.close());
  const { promise, resolve } = Promise.withResolvers<readonly DbusValue[]>();
  const { path: object = "", interface: of = "", member = "" } = signal;
  await connection.listen(
    { sender: "org.freedesktop.login1", path: object, interface: of, member },
    resolve,
    within(5000),
  );
  t.same(await promise, [true]);
  await connection.call(method, within(5000));
  const rule = `type='signal',sender='org.freedesktop.login1',path='${object}',interface='${of}',member='${member}'`;
  t.match(seen, [
    { member: "Hello" },
    { member: "AddMatch", body: [rule] },
    { kind: "error", replySerial: 5 },
    { member: "C" },
  ]);
});

t.test("DbusConnection ends every call when the other side goes, and each when it is told to", async (t) => {
  const { path } = await bus(t, (message, socket) => {
    if (message.member === "Hello") socket.write(reply(message));
    if (message.member === "End") socket.destroy();
  });
  const connection = await DbusConnection.open({ path, hasBus: true }, within(5000));
  const stop = new AbortController();
  const stopped = connection.call(method, stop);
  stop.abort(new Error("enough"));
  await t.rejects(stopped, { message: "enough" });
  const waiting = connection.call(method, uninterrupted);
  await t.rejects(connection.call({ ...method, member: "End" }, uninterrupted), { code: "unavailable" });
  await t.rejects(waiting, { code: "unavailable" });
  t.ok(connection.isClosed);
});

t.test("DbusConnection.open() says what is wrong", async (t) => {
  await t.rejects(DbusConnection.open({ path: "/nowhere", hasBus: true }, uninterrupted), { code: "unavailable" });
  const dir = mkdtempSync(join(tmpdir(), "skiff-dbus-"));
  const server = createServer((socket) => socket.end("REJECTED ANONYMOUS\r\n"));
  await new Promise<void>((resolve) => server.listen(join(dir, "socket"), resolve));
  t.teardown(() => {
    server.close();
    rmSync(dir, { recursive: true });
  });
  const address = { path: join(dir, "socket"), hasBus: true };
  await t.rejects(DbusConnection.open(address, within(5000)), { code: "forbidden", message: /answered "REJECTED/ });
});
