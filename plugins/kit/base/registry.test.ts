import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "./call.ts";
import { FakeClock } from "./clock.ts";
import { checkSettings, integer, withDefault } from "./config-check.ts";
import { Fault } from "./fault.ts";
import { noLog } from "./log.ts";
import { type AnyPlugin, kind, type Plugin } from "./plugin.ts";
import { openChosen, openPlugins, settingsOf } from "./registry.ts";
import { loadUserPlugins } from "../os/user-plugins.ts";

interface Greeter {
  greet(): string;
}
const greeters = kind<Greeter>("greeter");
const sinks = kind<string>("sink");

const dir = mkdtempSync(join(tmpdir(), "skiff-registry-"));
t.teardown(() => rmSync(dir, { recursive: true }));
const base = { log: noLog, clock: new FakeClock(), stateDir: join(dir, "state") };

function greeter(name: string, more: Partial<Plugin<Greeter>> = {}): AnyPlugin {
  return { kind: greeters, name, open: () => ({ greet: () => name }), ...more } as AnyPlugin;
}

t.test("openPlugins() opens in list order, by kind and by name", async (t) => {
  const opened = await openPlugins({ ...base, plugins: [greeter("b"), greeter("a")] }, uninterrupted);
  t.same(
    opened.all(greeters).map((one) => one.greet()),
    ["b", "a"],
  );
  t.equal(opened.named(greeters, "a")?.greet(), "a");
  t.equal(opened.named(greeters, "c"), undefined);
  t.same(opened.all(sinks), []);
  t.ok(existsSync(join(dir, "state/greeter/a")));
  await opened.close();
});

t.test("openPlugins() opens what is needed first, and still lists in list order", async (t) => {
  const order: string[] = [];
  const sink = (name: string): AnyPlugin => ({ kind: sinks, name, open: () => (order.push(name), name) });
  const needy = greeter("needy", {
    needs: [sinks],
    open: (host) => {
      order.push("needy");
      return { greet: () => host.all(sinks).join() };
    },
  });
  const opened = await openPlugins({ ...base, plugins: [needy, sink("one"), sink("two")] }, uninterrupted);
  t.same(order, ["one", "two", "needy"]);
  t.equal(opened.all(greeters)[0]?.greet(), "one,two");
  await opened.close();
});

t.test("openPlugins() names the circle when plugins need each other", async (t) => {
  const a: AnyPlugin = { kind: greeters, name: "a", needs: [sinks], open: () => ({}) };
  const b: AnyPlugin = { kind: sinks, name: "b", needs: [greeters], open: () => "" };
  await t.rejects(openPlugins({ ...base, plugins: [a, b] }, uninterrupted), {
    code: "invalid",
    message: "Plugins need each other in a circle: greeter/a -> sink/b -> greeter/a",
  });
});

t.test("openPlugins() gives each plugin its checked settings", async (t) => {
  const counter = greeter("counter", {
    configure: (raw) => checkSettings(raw, { count: withDefault(integer({ min: 1 }), 3) }),
    open: (host) => ({ greet: () => JSON.stringify(host.settings) }),
  });
  const open = (settings: Record<string, unknown>) =>
    openPlugins({ ...base, plugins: [counter, greeter("plain")], settings }, uninterrupted);
  t.equal((await open({})).all(greeters)[0]?.greet(), '{"count":3}');
  t.equal((await open({ counter: { count: 5 } })).all(greeters)[0]?.greet(), '{"count":5}');
  t.equal((await open({ "greeter/counter": { count: 6 } })).all(greeters)[0]?.greet(), '{"count":6}');
  await t.rejects(open({ countr: {} }), {
    code: "invalid",
    message: 'Settings name an unknown plugin "countr"; did you mean "counter"?',
  });
  await t.rejects(open({ counter: { cuont: 1 } }), {
    code: "invalid",
    message: /plugin "greeter\/counter": settings: unknown key "cuont"; did you mean "count"/,
  });
  await t.rejects(open({ plain: { x: 1 } }), { code: "invalid", message: 'Plugin "greeter/plain" takes no settings' });
});

t.test("openPlugins() leaves out what does not fit, with its reason, and what is disabled", async (t) => {
  const plugins = [greeter("a", { unfit: async () => "no kernel module" }), greeter("b"), greeter("c"), greeter("d")];
  const opened = await openPlugins(
    { ...base, plugins, disabled: ["c", "greeter/d"], settings: { c: undefined } },
    uninterrupted,
  );
  t.same(opened.skipped, [{ kind: "greeter", name: "a", reason: "no kernel module" }]);
  t.same(
    opened.all(greeters).map((one) => one.greet()),
    ["b"],
  );
  await opened.close();
});

t.test("openPlugins() refuses two plugins of one name, unless one is disabled", async (t) => {
  await t.rejects(openPlugins({ ...base, plugins: [greeter("a"), greeter("a")] }, uninterrupted), {
    code: "already-exists",
    message: /greeter\/a/,
  });
});

t.test("close() runs last in, first out, completely, once", async (t) => {
  const closed: string[] = [];
  const closing = (name: string, fails = false): AnyPlugin =>
    greeter(name, {
      open: (host) => {
        host.onClose(() => void closed.push(`${name} 1`));
        host.onClose(async () => {
          closed.push(`${name} 2`);
          if (fails) throw new Error("stuck");
        });
        return { greet: () => name };
      },
    });
  const opened = await openPlugins({ ...base, plugins: [closing("a"), closing("b", true)] }, uninterrupted);
  await opened.close();
  await opened.close();
  t.same(closed, ["b 2", "b 1", "a 2", "a 1"]);
});

t.test("openPlugins() closes everything again when one throws, and names it", async (t) => {
  const closed: string[] = [];
  const good = greeter("good", {
    open: (host) => {
      host.onClose(() => void closed.push("good"));
      return { greet: () => "" };
    },
  });
  const half = greeter("half", {
    open: (host) => {
      host.onClose(() => void closed.push("half"));
      throw new Fault("unavailable", "no device");
    },
  });
  await t.rejects(openPlugins({ ...base, plugins: [good, half, greeter("never")] }, uninterrupted), {
    name: "Fault",
    code: "unavailable",
    message: 'Cannot open plugin "greeter/half": no device',
  });
  t.same(closed, ["half", "good"]);
});

t.test("a plugin may only ask for kinds it named in its needs", async (t) => {
  const sly = greeter("sly", { open: (host) => ({ greet: () => host.all(sinks).join() }) });
  const opened = await openPlugins({ ...base, plugins: [sly] }, uninterrupted);
  t.throws(() => opened.all(greeters)[0]?.greet(), { code: "internal", message: /without naming it/ });
});

t.test("loadUserPlugins() loads files and packages", async (t) => {
  writeFileSync(
    join(dir, "mine.ts"),
    'export default { kind: { name: "greeter" }, name: "mine" as string, open: () => ({ greet: () => "hi" }) };',
  );
  writeFileSync(
    join(dir, "two.js"),
    'const p = (name) => ({ kind: { name: "greeter" }, name, open: () => ({}) }); export const a = p("a"); export const b = p("b"); export const other = 1;',
  );
  mkdirSync(join(dir, "node_modules/my-plugin"), { recursive: true });
  writeFileSync(
    join(dir, "node_modules/my-plugin/package.json"),
    '{"name":"my-plugin","type":"module","main":"main.js"}',
  );
  writeFileSync(
    join(dir, "node_modules/my-plugin/main.js"),
    'export default [{ kind: { name: "sink" }, name: "packed", open: () => "x" }];',
  );
  const plugins = await loadUserPlugins(["./mine.ts", join(dir, "two.js"), "my-plugin"], dir);
  t.same(
    plugins.map((plugin) => `${plugin.kind.name}/${plugin.name}`),
    ["greeter/mine", "greeter/a", "greeter/b", "sink/packed"],
  );
});

t.test("loadUserPlugins() says what is wrong with an entry", async (t) => {
  writeFileSync(join(dir, "broken.js"), "export default {");
  writeFileSync(join(dir, "empty.js"), "export const x = 1;");
  await t.rejects(loadUserPlugins(["./nowhere.js"], dir), { code: "not-found", message: /\.\/nowhere\.js/ });
  await t.rejects(loadUserPlugins(["no-such-package"], dir), { code: "not-found", message: /no-such-package/ });
  await t.rejects(loadUserPlugins(["./broken.js"], dir), {
    code: "invalid",
    message: /Cannot load plugin "\.\/broken\.js"/,
  });
  await t.rejects(loadUserPlugins(["./empty.js"], dir), { code: "invalid", message: /exports no plugin/ });
  await t.rejects(loadUserPlugins(["./two.js", "./two.js"], dir), { code: "invalid", message: /listed twice/ });
});

t.test("settingsOf() picks those of the plugins at hand", async (t) => {
  t.same(settingsOf([greeter("a")], { a: 1, "greeter/a": 2, b: 3 }), { a: 1, "greeter/a": 2 });
});

t.test("openChosen() opens one plugin, and closing that runs what it registered", async (t) => {
  const order: string[] = [];
  const plugin: AnyPlugin = {
    kind: { name: "door" },
    name: "mine",
    configure: (raw) => raw,
    open({ settings, onClose }) {
      onClose(() => void order.push("registered"));
      return { settings, close: async () => void order.push("own") };
    },
  };
  const door = kind<{ settings: unknown; close(): Promise<void> }>("door");
  const opened = await openChosen(door, plugin, { ...base, settings: { mine: 7, other: 8 } }, uninterrupted);
  t.equal(opened.settings, 7);
  await opened.close();
  t.same(order, ["own", "registered"]);
  const unfit = { ...plugin, unfit: () => "no such device" };
  await t.rejects(openChosen(door, unfit, base, uninterrupted), {
    code: "unsupported",
    message: 'Cannot use plugin "mine": no such device',
  });
});
