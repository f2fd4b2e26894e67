// `skiff check`: the doctor with this box's facts and settings.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { checkBox, findingLines } from "../check/check.ts";
import { hostFacts } from "../check/host-facts.ts";
import { daemonOf } from "./runtime-daemon.ts";

/** True when nothing fails. */
export async function checkCommand(settings: Settings, print: (line: string) => void, call: Call): Promise<boolean> {
  const port = (name: string, use: string) => ({ port: Number(settings[name] ?? 0), use });
  const joins = settings.server !== undefined || settings.kubeconfig !== undefined;
  const ports = [
    ...(joins ? [] : [port("https-port", "API server")]),
    port("kubelet-port", "kubelet API"),
    port("healthz-port", "health"),
  ];
  const daemon = await daemonOf(String(settings["runtime"] ?? "auto"), call);
  const facts = hostFacts(
    {
      dataDir: String(settings["data-dir"]),
      ports: ports.filter((one) => one.port > 0),
      ...(daemon ? { daemon } : {}),
    },
    call,
  );
  const findings = await checkBox(facts);
  if (settings.output === "json") print(JSON.stringify({ findings }, undefined, 2));
  else for (const line of findingLines(findings)) print(line);
  return findings.every(({ status }) => status !== "fail");
}
