import fc from "fast-check";
import t from "tap";
import { isFault } from "../base/fault.ts";
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  quantityMilli,
  quantityOf,
  quantityOfMilli,
  quantityValue,
  subtractQuantity,
  zeroQuantity,
} from "./quantity.ts";

const canonical: [string, string][] = [
  ["0", "0"],
  ["0Ki", "0"],
  ["-0", "0"],
  ["1.5Gi", "1536Mi"],
  ["100m", "100m"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["0.1", "100m"],
  ["1.", "1"],
  [".5", "500m"],
  ["+1", "1"],
  ["1e3", "1e3"],
  ["1E3", "1e3"],
  ["1e4", "10e3"],
  ["1.5e3", "1500"],
  ["1e-3", "1e-3"],
  ["12E", "12E"],
  ["1000", "1k"],
  ["1024", "1024"],
  ["1024Ki", "1Mi"],
  ["512Ki", "512Ki"],
  ["0.5Ki", "512"],
  ["0.0001Ki", "102400u"],
  ["1.1Ki", "1126400m"],
  ["0.0000000001", "1n"],
  ["1.0000000001", "1000000001n"],
  ["-0.0000000001", "-1n"],
  ["8Ei", "9223372036854775807"],
  ["-8Ei", "-9223372036854775807"],
  ["7Ei", "7Ei"],
  ["1000E", "1000E"],
  ["1000000E", "1000000E"],
  ["1e21", "1e21"],
  ["0001k", "1k"],
  ["-1.5Gi", "-1536Mi"],
  ["100000000000n", "100"],
];
for (const [written, expected] of canonical) {
  t.test(`formatQuantity() prints ${written} as ${expected}`, async (t) => {
    t.equal(formatQuantity(parseQuantity(written)), expected);
  });
}

for (const wrong of [
  "",
  "-",
  "+",
  ".",
  "1K",
  "1ki",
  "1e",
  "1 k",
  " 1",
  "1i",
  "0x10",
  "1.2.3",
  "e3",
  "1e3k",
  "∞",
  "1e101",
  "10000e100",
  "1".repeat(200),
]) {
  t.test(`parseQuantity() refuses ${JSON.stringify(wrong.slice(0, 20))}`, async (t) => {
    t.throws(() => parseQuantity(wrong), { code: "invalid" });
    t.ok(isFault(tryParse(wrong), "invalid"));
  });
}

function tryParse(text: string): unknown {
  try {
    return parseQuantity(text);
  } catch (error) {
    return error;
  }
}

t.test("parseQuantity() takes JSON numbers", async (t) => {
  t.equal(formatQuantity(parseQuantity(0.5)), "500m");
  t.equal(formatQuantity(parseQuantity(2)), "2");
  t.equal(formatQuantity(parseQuantity(1e21)), "1e21");
});

t.test("quantityValue() and quantityMilli() round away from zero", async (t) => {
  t.equal(quantityValue(parseQuantity("1m")), 1n);
  t.equal(quantityValue(parseQuantity("-1m")), -1n);
  t.equal(quantityValue(parseQuantity("2Gi")), 2147483648n);
  t.equal(quantityMilli(parseQuantity("1u")), 1n);
  t.equal(quantityMilli(parseQuantity("1.5")), 1500n);
});

t.test("addQuantity() and subtractQuantity() keep the left format unless it is zero", async (t) => {
  t.equal(formatQuantity(addQuantity(parseQuantity("1Gi"), parseQuantity("1073741824"))), "2Gi");
  t.equal(formatQuantity(addQuantity(zeroQuantity, parseQuantity("2Mi"))), "2Mi");
  t.equal(formatQuantity(subtractQuantity(parseQuantity("1"), parseQuantity("100m"))), "900m");
});

t.test("quantityOf() and quantityOfMilli() build amounts", async (t) => {
  t.equal(formatQuantity(quantityOf(1024 * 1024, "binary")), "1Mi");
  t.equal(formatQuantity(quantityOfMilli(250n)), "250m");
});

const written = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
    fc.option(fc.nat(999_999), { nil: undefined }),
    fc.constantFrom("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e5", "E-4"),
  )
  .map(([whole, fraction, suffix]) => `${whole}${fraction === undefined ? "" : `.${fraction}`}${suffix}`);

t.test("formatQuantity() is exact and stable for any amount", async () => {
  fc.assert(
    fc.property(written, (text) => {
      const once = parseQuantity(text);
      const printed = formatQuantity(once);
      const again = parseQuantity(printed);
      return compareQuantity(once, again) === 0 && formatQuantity(again) === printed;
    }),
  );
});

t.test("parseQuantity() answers any text with an amount or a Fault", async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.eEinumkKMGTP+-]{0,12}$/)), (text) => {
      const result = tryParse(text);
      return isFault(result, "invalid") || typeof (result as { nano?: unknown }).nano === "bigint";
    }),
  );
});
