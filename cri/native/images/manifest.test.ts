import t from "tap";
import { parseImageConfig } from "./manifest.ts";

t.test("parseImageConfig() keeps only labels that are strings", async (t) => {
  const bytes = Buffer.from('{"config":{"Labels":{"a":{},"b":1,"c":"d","__proto__":"e"}}}');
  t.equal(JSON.stringify(parseImageConfig(bytes, "the configuration").config.Labels), '{"c":"d","__proto__":"e"}');
});
