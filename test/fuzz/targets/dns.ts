import { readQuestion, responseCode, writeAnswer, writeError } from "../../../plugins/daemon/dns/codec.ts";
import { check, type Target } from "../target.ts";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const header = "1234 0100 0001 0000 0000 0000";

export const dns: Target = {
  name: "DNS",
  corpus: [
    hex(`${header} 01 61 01 62 00 0001 0001`),
    hex("1234 0100 0001 0000 0000 0001 03 777777 00 001c 0001 00 0029 04d0 0000 8000 0000"),
    hex("0001 0000 0001 0000 0000 0001 01 41 00 00ff 0001 c00c 0001 0001 00000000 0004 0a000001"),
    hex("0001 0000 0001 0000 0000 0000 c0 0c 0001 0001"),
    hex("0001 8000 0001 0000 0000 0000 00 0001 0001"),
    hex("0001 7800 0000 0000 0000 0000"),
  ],
  words: ["\xc0\x0c", "\0\0)", "\x3f", "\0\x01\0\x01"],
  run(input) {
    const question = readQuestion(input);
    if (question === undefined) return "no answer";
    if ("error" in question) {
      check(writeError(input, question.error).length === 12, "an error is longer than a header");
      return `error ${question.error}`;
    }
    check(question.name.length <= 254, `a name has ${question.name.length} bytes`);
    const record = { name: question.name, ttl: 5, data: { type: "CNAME", target: `x.${question.name}` } } as const;
    const answer = {
      code: responseCode.ok,
      isAuthoritative: true,
      answers: [record],
      authorities: [],
      additionals: [],
    };
    const bytes = writeAnswer(question, answer, 512);
    check(bytes.length <= 512 + question.raw.length, `an answer of at most 512 bytes has ${bytes.length}`);
    check(bytes.readUInt16BE(0) === question.id, "the answer has another id");
    // What was asked must read the same in the echo.
    const echoed = readQuestion(Buffer.concat([hex(header), question.raw]));
    if (echoed && !("error" in echoed)) check(echoed.type === question.type, "the echo asks for another type");
    return `${question.edns ? "edns" : "plain"} ${Math.min(question.name.split(".").length, 4)} ${question.type < 300}`;
  },
};
