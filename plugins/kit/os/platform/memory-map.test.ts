import t from "tap";
import { unchangedMappings } from "./memory-map.ts";

const mapping = (range: string, access: string, path: string, anonymousKb: number) =>
  [
    `${range} ${access} 00000000 fe:00 1234                       ${path}`,
    "Size:                 64 kB",
    "Rss:                  32 kB",
    `Anonymous:    ${String(anonymousKb).padStart(9)} kB`,
    "LazyFree:              0 kB",
  ].join("\n");
const program = "/opt/skiff/bin/node";

t.test("unchangedMappings() takes what stands in the file and nothing else", async (t) => {
  const rows: [string, string, bigint[]][] = [
    ["code", mapping("00400000-00410000", "r-xp", program, 0), [0x400000n]],
    ["constants", mapping("00400000-00410000", "r--p", program, 0), [0x400000n]],
    ["constants that were written before they became constant", mapping("00400000-00410000", "r--p", program, 4), []],
    ["what may be written", mapping("00400000-00410000", "rw-p", program, 0), []],
    ["what is shared", mapping("00400000-00410000", "r--s", program, 0), []],
    ["another file", mapping("00400000-00410000", "r-xp", "/lib/libc.so.6", 0), []],
    ["a file whose name begins alike", mapping("00400000-00410000", "r-xp", `${program}.old`, 0), []],
    ["no file", mapping("7f0000000000-7f0000010000", "r--p", "", 0), []],
    [
      "one after another",
      [
        mapping("7f0000000000-7f0000010000", "r-xp", program, 0),
        mapping("7f0000010000-7f0000020000", "rw-p", program, 0),
        mapping("7f0000020000-7f0000030000", "r--p", program, 0),
      ].join("\n"),
      [0x7f0000000000n, 0x7f0000020000n],
    ],
  ];
  for (const [name, smaps, expected] of rows) {
    const found = unchangedMappings(smaps, program);
    t.same(
      found.map(({ start }) => start),
      expected,
      name,
    );
    t.ok(
      found.every(({ bytes }) => bytes === 0x10000),
      `${name}: its size`,
    );
  }
});
