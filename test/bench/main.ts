// The benchmark driver: `npm run bench` lists what can be measured, `npm run bench -- store` measures the store.

import { readdirSync } from "node:fs";

interface Bench {
  run(args: string[]): Promise<void>;
}

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && file !== "main.ts" && !file.endsWith(".test.ts"))
  .map((file) => file.slice(0, -3));
const [name, ...args] = process.argv.slice(2);

if (!name || !names.includes(name)) {
  console.error(`usage: npm run bench -- <${names.join("|")}> [arguments]`);
  process.exit(name ? 1 : 0);
}
const bench = (await import(`./${name}.ts`)) as Bench;
await bench.run(args);
process.exit(0);
