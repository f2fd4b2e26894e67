import t from "tap";
import { readSettings, type Setting } from "./settings.ts";

const known: Setting[] = [
  { name: "data-dir", type: "text", help: "", default: "/var/lib/skiff" },
  {
    name: "https-port",
    type: "number",
    help: "",
    default: 6443,
    check: (port: number) => (port > 65535 ? "a port is at most 65535" : undefined),
  },
  { name: "stop-pods-on-exit", type: "switch", help: "", default: false },
  { name: "node-label", type: "list", help: "" },
  { name: "runtime", type: "text", help: "", choices: ["auto", "native"], default: "auto" },
  { name: "plugin-settings", type: "mapping", help: "" },
];
const file = (content: unknown) => ({ path: "/etc/skiff/config.yaml", content });

t.test("readSettings() lets a flag win over the file and the file over the default", async (t) => {
  const settings = readSettings(known, { "https-port": "7000" }, file({ "https-port": 6000, "data-dir": "/srv" }));
  t.match(settings, { "https-port": 7000, "data-dir": "/srv", runtime: "auto" });
});

t.test("readSettings() takes lists by comma, by repetition and from the file", async (t) => {
  t.same(readSettings(known, { "node-label": ["a=1,b=2", "c=3"] })["node-label"], ["a=1", "b=2", "c=3"]);
  t.same(readSettings(known, {}, file({ "node-label": ["a=1"] }))["node-label"], ["a=1"]);
});

t.test("readSettings() names the thing, the place and what was expected", async (t) => {
  const rows: { name: string; flags?: Record<string, unknown>; content?: unknown; message: string }[] = [
    {
      name: "unknown key near a known one",
      content: { "data-dri": "/x" },
      message: 'Unknown setting "data-dri" in /etc/skiff/config.yaml; did you mean "data-dir"?',
    },
    {
      name: "wrong type in the file",
      content: { "https-port": "6443" },
      message: 'Bad value for https-port in /etc/skiff/config.yaml: expected a number, got "6443"',
    },
    {
      name: "not a mapping",
      content: ["a"],
      message: "Cannot read the config file /etc/skiff/config.yaml: it must be a mapping of settings, not a list",
    },
    {
      name: "wrong flag",
      flags: { "https-port": "abc" },
      message: 'Bad value for --https-port: expected a number, got "abc"',
    },
    { name: "check", flags: { "https-port": "70000" }, message: "Bad value for --https-port: a port is at most 65535" },
    {
      name: "choice",
      flags: { runtime: "podman" },
      message: 'Bad value for --runtime: expected one of auto, native, got "podman"',
    },
    {
      name: "a switch as text in the file",
      content: { "stop-pods-on-exit": "yes" },
      message: 'Bad value for stop-pods-on-exit in /etc/skiff/config.yaml: expected true or false, got "yes"',
    },
  ];
  for (const row of rows) {
    t.throws(
      () => readSettings(known, row.flags ?? {}, row.content === undefined ? undefined : file(row.content)),
      { code: "invalid", message: row.message },
      row.name,
    );
  }
});
