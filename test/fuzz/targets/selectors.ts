import { parseFieldSelector, parseLabelSelector } from "../../../plugins/kit/kube/selector.ts";
import { attempt, check, type Target } from "../target.ts";

const labels = { app: "web", tier: "1", "example.com/a": "" };

export const labelSelector: Target = {
  name: "label selector",
  corpus: ["a=b", "a in (x,y),!c", "a notin (),b>3", "example.com/a==,b!=c,d<-1", "a", "!a, b = c"],
  words: [" in ", " notin ", "(", ")", ",", "!", "=", "==", "!=", ">", "<", "example.com/", "a"],
  run: (input) =>
    attempt(
      () => parseLabelSelector(input.toString()),
      (selector) => {
        const text = selector.toString();
        const again = parseLabelSelector(text);
        check(again.toString() === text, `the canonical form ${text} is not stable`);
        check(again.matches(labels) === selector.matches(labels), `the canonical form ${text} selects others`);
        return `${selector.isEverything} ${selector.requirements
          .map(({ operator }) => operator)
          .slice(0, 3)
          .join()}`;
      },
    ),
};

export const fieldSelector: Target = {
  name: "field selector",
  corpus: ["metadata.name=a", "spec.nodeName!=b,status.phase==Running", "a=b\\,c\\=d\\\\", "=", "a=,b="],
  words: ["=", "==", "!=", ",", "\\", "\\,", "\\=", "metadata.name", "spec.nodeName"],
  run: (input) =>
    attempt(
      () => parseFieldSelector(input.toString()),
      (selector) => {
        const text = selector.toString();
        const again = parseFieldSelector(text);
        check(again.toString() === text, `the canonical form ${text} is not stable`);
        check(again.requirements.length === selector.requirements.length, `${text} has other requirements`);
        return `${Math.min(selector.requirements.length, 3)} ${selector.requirements[0]?.op}`;
      },
    ),
};
