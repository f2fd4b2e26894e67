import t from "tap";
import { checkPluginSettings } from "./plugin-settings.ts";

const given = (settings: object) => ({ "plugin-settings": settings }) as never;

t.test("checkPluginSettings() takes settings of both sides and of the user's plugins", async () => {
  const mine = { kind: { name: "score" }, name: "mine", open: () => ({}) };
  checkPluginSettings(given({ PodSecurity: {}, dns: {}, ABAC: { path: "x" }, mine: {} }), [mine]);
  checkPluginSettings({} as never, []);
});

t.test("checkPluginSettings() names what nobody would read", async (t) => {
  t.throws(() => checkPluginSettings(given({ PodSecurty: {} }), []), {
    code: "invalid",
    message: 'Settings name an unknown plugin "PodSecurty"; did you mean "PodSecurity"?',
  });
});
