import { formatQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import { attempt, check, type Target } from "../target.ts";

export const quantity: Target = {
  name: "quantity",
  corpus: ["0", "100m", "1.5Gi", "-2e3", "+.5k", "12E", "1e-9", "0.000000001", "9223372036854775807Ki", "10000e100"],
  words: ["Ki", "Ei", "n", "u", "m", "e", "E", ".", "-", "+", "e100", "999999999"],
  run: (input) =>
    attempt(
      () => parseQuantity(input.toString()),
      (parsed) => {
        const text = formatQuantity(parsed);
        check(text.length < 400, `a quantity of ${input.length} bytes is written in ${text.length}`);
        check(parseQuantity(text).nano === parsed.nano, `the canonical form ${text} is another amount`);
        check(formatQuantity(parseQuantity(text)) === text, `the canonical form ${text} is not stable`);
        return parsed.format;
      },
    ),
};
