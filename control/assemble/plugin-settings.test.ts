import t from "tap";
import { sqlite } from "../../plugins/store/sqlite.ts";
import { storagePrefix } from "../storage/keys.ts";
import { checkPluginSettings, settablePlugins } from "./plugin-settings.ts";

const given = (settings: object) => ({ "plugin-settings": settings }) as never;

t.test("checkPluginSettings() takes settings of both sides and of the user's plugins", async () => {
  const mine = { kind: { name: "score" }, name: "mine", open: () => ({}) };
  checkPluginSettings(given({ PodSecurity: {}, dns: {}, ABAC: { path: "x" }, sqlite: {}, etcd: {}, mine: {} }), [mine]);
  checkPluginSettings({} as never, []);
});

t.test("checkPluginSettings() names what nobody would read", async (t) => {
  t.throws(() => checkPluginSettings(given({ PodSecurty: {} }), []), {
    code: "invalid",
    message: 'Settings name an unknown plugin "PodSecurty"; did you mean "PodSecurity"?',
  });
});

t.test("settablePlugins() say which keys they know, and refuse others", async (t) => {
  const plugins = await settablePlugins();
  t.ok(plugins.length > 8);
  for (const { name, keys = {}, configure } of plugins) {
    t.not(Object.keys(keys).length, 0, `${name} has keys for the reference`);
    t.throws(() => configure?.({ nonsense: 1 }), { code: "invalid", message: /unknown key "nonsense"/ }, name);
    // A value that fits nothing is wrong for what it is, not for the key that it stands under.
    for (const key of Object.keys(keys))
      t.throws(() => configure?.({ [key]: Number.NaN }), { message: /^(?!.*unknown key)/ }, `${name}.${key}`);
  }
});

t.test("leases and events are what the sqlite store writes lazily", async (t) => {
  const leases = storagePrefix({ group: "coordination.k8s.io", plural: "leases" });
  t.match(sqlite.configure?.({}), { lazyPrefixes: [leases, storagePrefix({ group: "", plural: "events" })] });
});
