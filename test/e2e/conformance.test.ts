// The conformance suite of Kubernetes v1.32 against `skiff up`. Needs its program, `e2e.test`, on PATH, and a folder of image archives
// under the names that it asks for (SKIFF_CONFORMANCE_IMAGES); SKIFF_CONFORMANCE_FOCUS narrows it, as ginkgo's focus does.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const images = process.env["SKIFF_CONFORMANCE_IMAGES"];
const focus = process.env["SKIFF_CONFORMANCE_FOCUS"] ?? "\\[Conformance\\]";

function withoutSuite(): string | false {
  try {
    execFileSync("sh", ["-c", "command -v e2e.test"], { stdio: "ignore" });
    return images ? false : "needs the suite's images in SKIFF_CONFORMANCE_IMAGES";
  } catch {
    return "needs e2e.test, Kubernetes' conformance suite, on PATH";
  }
}

t.setTimeout(0);

t.test("the conformance suite passes on skiff up", { skip: withoutSuite(), timeout: 0 }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-conformance-"));
  cpSync(images ?? "", join(dataDir, "images"), { recursive: true });
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  await until("the suite's images to be imported", async () =>
    (await skiff.kubectl("get", "node", skiff.nodeName, "-o", "jsonpath={.status.images[*].names}")).includes(
      "agnhost",
    ),
  );
  const args = [
    `--kubeconfig=${skiff.kubeconfig}`,
    "--provider=skeleton",
    "--ginkgo.no-color",
    `--ginkgo.focus=${focus}`,
  ];
  const suite = spawn("e2e.test", args, { stdio: ["ignore", "pipe", "pipe"], cwd: dataDir });
  let text = "";
  for (const stream of [suite.stdout, suite.stderr])
    stream.on("data", (chunk) => (text = (text + String(chunk)).slice(-1_000_000)));
  const code = await new Promise((resolve) => suite.once("exit", resolve));
  t.equal(code, 0, text.slice(text.indexOf("Summarizing")));
  t.comment(/^Ran .*\n.*Passed.*$/m.exec(text)?.[0] ?? text.slice(-2000));
});
