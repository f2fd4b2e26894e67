// CHAP names and passwords from the volume's secret, in iscsiadm's words.

import type { Call } from "../../kit/base/call.ts";
import { Fault } from "../../kit/base/fault.ts";
import type { PodObjects } from "../../kit/contracts/pod-objects.ts";
import type { VolumeMountRequest } from "../../kit/contracts/volume.ts";
import { secretData } from "../keyed-content.ts";
import type { Chap } from "./initiator.ts";

const discoveryKeys = ["username", "password", "username_in", "password_in"].map(
  (name) => `discovery.sendtargets.auth.${name}`,
);
const sessionKeys = ["username", "password", "username_in", "password_in"].map((name) => `node.session.auth.${name}`);

export async function chapOf(request: VolumeMountRequest, objects: PodObjects | undefined, call: Call): Promise<Chap> {
  const { iscsi } = request.volume;
  if (!iscsi?.chapAuthDiscovery && !iscsi?.chapAuthSession) return {};
  const { name, namespace } = (iscsi.secretRef ?? {}) as { name?: string; namespace?: string };
  if (!name || !objects) throw new Fault("invalid", "Cannot log in with CHAP: the volume names no secret");
  const where =
    namespace ?? request.persistentVolume?.spec?.claimRef?.namespace ?? request.pod.metadata.namespace ?? "";
  const data = secretData(await objects.secret(where, name, call));
  const pick = (method: string, keys: readonly string[]) => {
    const found = keys.flatMap((key) => {
      const value = data.get(key);
      return value ? [[key, Buffer.from(value).toString("utf8")] as const] : [];
    });
    if (found.length === 0)
      throw new Fault("invalid", `Cannot log in with CHAP: secret "${where}/${name}" has none of ${keys.join(", ")}`);
    return new Map([[method, "CHAP"], ...found]);
  };
  return {
    ...(iscsi.chapAuthDiscovery ? { discovery: pick("discovery.sendtargets.auth.authmethod", discoveryKeys) } : {}),
    ...(iscsi.chapAuthSession ? { session: pick("node.session.auth.authmethod", sessionKeys) } : {}),
  };
}
