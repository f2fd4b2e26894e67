// How a sandbox is attached to the pod network.

import { join } from "node:path";
import { networkAttachment } from "../../api/network-attachment.ts";
import type { AttachRequest } from "../../../cni/invoke/network-lists.ts";
import type { Native } from "../native.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

export function attachment(native: Native, record: SandboxRecord): AttachRequest {
  const { config, id } = record;
  return networkAttachment(id, join(native.paths.namespaces(id), "net"), config);
}
