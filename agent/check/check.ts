// The doctor: looks at everything that commonly goes wrong on small boxes, and says it with its fix.

import { diskFindings } from "./disk.ts";
import type { CheckFacts, Finding } from "./finding.ts";
import { kernelFindings } from "./kernel.ts";
import { machineFindings } from "./machine.ts";
import { portFindings } from "./ports.ts";

export async function checkBox(facts: CheckFacts): Promise<Finding[]> {
  const groups = await Promise.all([kernelFindings(facts), machineFindings(facts), diskFindings(facts)]);
  return [...groups.flat(), ...portFindings(facts)];
}

/** Lines for people: what is wrong first in the line, its fix below it. */
export function findingLines(findings: readonly Finding[]): string[] {
  const lines = findings.flatMap(({ name, status, message, fix }) => [
    `${status.padEnd(4)}  ${name}: ${message}`,
    ...(fix ? [`      fix: ${fix}`] : []),
  ]);
  const count = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  return [...lines, `${count("ok")} ok, ${count("warn")} to mind, ${count("fail")} to mend`];
}
