// Who a container runs as: the ids behind a user name or number, from the image's own /etc/passwd and /etc/group. Files are read
// as the container would see them: links inside the image never lead to the host's files.

import { SupplementalGroupsPolicy } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { readInRoot } from "../../../plugins/kit/os/safe-files/regular-file.ts";

export interface ContainerIdentity {
  readonly uid: number;
  readonly gid: number;
  readonly groups: number[];
  readonly home: string;
}

export interface WantedUser {
  readonly runAsUser?: number;
  readonly runAsUsername?: string;
  readonly runAsGroup?: number;
  /** The image's own `User`: name or id, with `:group`. */
  readonly imageUser: string;
  readonly supplementalGroups: readonly number[];
  readonly policy: SupplementalGroupsPolicy;
}

const maxFileBytes = 1024 * 1024;

const lines = (text: string) => text.split("\n").map((line) => line.trim().split(":"));

export function resolveUser(root: string, wanted: WantedUser): ContainerIdentity {
  const passwd = lines(readInRoot(root, "/etc/passwd", maxFileBytes)).filter((fields) => fields.length >= 4);
  const group = lines(readInRoot(root, "/etc/group", maxFileBytes)).filter((fields) => fields.length >= 3);
  const [imageName = "", imageGroup = ""] = wanted.imageUser.split(":");
  const name = wanted.runAsUser === undefined ? wanted.runAsUsername || imageName : String(wanted.runAsUser);
  const isFromImage = wanted.runAsUser === undefined && !wanted.runAsUsername;
  const entry = passwd.find((fields) => (/^\d+$/.test(name) ? fields[2] === name : fields[0] === name));
  if (!entry && name !== "" && !/^\d+$/.test(name)) {
    throw new Fault("invalid", `Cannot run as user "${name}": the image's /etc/passwd does not have it`);
  }
  const uid = entry ? Number(entry[2]) : Number(name || "0");
  let gid = entry ? Number(entry[3]) : 0;
  if (isFromImage && imageGroup !== "") gid = groupId(group, imageGroup);
  if (wanted.runAsGroup !== undefined) gid = wanted.runAsGroup;
  const login = entry?.[0] ?? passwd.find((fields) => fields[2] === String(uid))?.[0];
  const isMerged = wanted.policy === SupplementalGroupsPolicy.Merge;
  const member = group.filter((fields) => login !== undefined && (fields[3] ?? "").split(",").includes(login));
  const own = isMerged ? member.map((fields) => Number(fields[2])) : [];
  const groups = [...new Set([gid, ...own, ...wanted.supplementalGroups])];
  const home = passwd.find((fields) => fields[2] === String(uid))?.[5] || "/";
  return { uid, gid, groups, home };
}

function groupId(group: string[][], name: string): number {
  if (/^\d+$/.test(name)) return Number(name);
  const found = group.find((fields) => fields[0] === name);
  if (!found) throw new Fault("invalid", `Cannot run as group "${name}": the image's /etc/group does not have it`);
  return Number(found[2]);
}
