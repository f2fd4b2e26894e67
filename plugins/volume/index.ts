// Every built-in kind of volume.

import { configMap } from "./config-map.ts";
import { csi } from "./csi/csi.ts";
import { downwardApi } from "./downward-api.ts";
import { emptyDir } from "./empty-dir.ts";
import { hostPath } from "./host-path.ts";
import { iscsi } from "./iscsi/iscsi.ts";
import { local } from "./local.ts";
import { nfs } from "./nfs.ts";
import { projected } from "./projected.ts";
import { secret } from "./secret.ts";

export const volumes = [emptyDir, hostPath, configMap, secret, downwardApi, projected, local, nfs, iscsi, csi];
