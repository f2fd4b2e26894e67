// Mounts that show the owners of files shifted by a user namespace's mapping (Linux 5.12 for plain file systems, 5.19 below overlayfs,
// 6.3 for tmpfs). They are made detached, changed, and only then put in their place.

import koffi from "koffi";
import { bind, libc, LibcError } from "./libc.ts";

const cloneTree = 1;
const emptyPath = 0x1000;
const recursive = 0x8000;
const closeOnExec = 0o2000000;
const attributeIdMap = 0x100000n;
const moveFromEmptyPath = 0x4;
const hereFd = -100;
const calls = { openTree: 428, moveMount: 429, mountSetattr: 442 };
const slave = 1n << 19n;

export interface ShiftedMount {
  readonly source: string;
  readonly target: string;
  /** The user namespace whose mapping the files shall show. */
  readonly userFd: number;
}

/** Mounts a folder elsewhere with shifted owners, without what is mounted below it. */
export function mountShifted({ source, target, userFd }: ShiftedMount): void {
  const tree = openTree(source, 0);
  try {
    setAttributes(source, tree, 0, { set: attributeIdMap, userFd });
    move(tree, target);
  } finally {
    libc.close(tree);
  }
}

/**
 * The same for a folder or a file with all that is mounted below it, which keeps its owners. What is mounted there later is seen here, but
 * nothing goes back: taking this away never takes anything away from the source. False where the file system cannot show shifted owners.
 */
export function mountShiftedTree({ source, target, userFd }: ShiftedMount): boolean {
  const tree = openTree(source, recursive);
  try {
    setAttributes(source, tree, recursive, { propagation: slave });
    try {
      setAttributes(source, tree, 0, { set: attributeIdMap, userFd });
    } catch (error) {
      if (error instanceof LibcError && ["EINVAL", "EPERM"].includes(error.code)) return false;
      throw error;
    }
    move(tree, target);
    return true;
  } finally {
    libc.close(tree);
  }
}

function openTree(source: string, flags: number): number {
  const call = bind("long syscall(long number, int fd, const char *path, unsigned int flags)");
  return check(`open_tree ${source}`, call(calls.openTree, hereFd, source, cloneTree | closeOnExec | flags));
}

function setAttributes(
  source: string,
  tree: number,
  flags: number,
  { set = 0n, propagation = 0n, userFd = 0 }: { set?: bigint; propagation?: bigint; userFd?: number },
): void {
  // struct mount_attr: what to set, what to clear, propagation, user namespace.
  const attributes = Buffer.alloc(32);
  attributes.writeBigUInt64LE(set, 0);
  attributes.writeBigUInt64LE(propagation, 16);
  attributes.writeBigUInt64LE(BigInt(userFd), 24);
  const call = bind(
    "long syscall(long number, int fd, const char *path, unsigned int flags, void *attributes, size_t size)",
  );
  const result = call(calls.mountSetattr, tree, "", emptyPath | flags, attributes, attributes.length);
  check(`mount_setattr ${source}`, result);
}

function move(tree: number, target: string): void {
  const call = bind(
    "long syscall(long number, int from, const char *fromPath, int to, const char *toPath, unsigned int flags)",
  );
  check(`move_mount ${target}`, call(calls.moveMount, tree, "", hereFd, target, moveFromEmptyPath));
}

function check(what: string, result: number): number {
  if (result < 0) throw new LibcError(what, koffi.errno());
  return result;
}
