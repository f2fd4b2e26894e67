// Seccomp profiles: our own default, which allows what ordinary programs use and answers EPERM to the rest, and profiles from files.

import { readFileSync } from "node:fs";
import { type SecurityProfile, SecurityProfile_ProfileType } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { OciSeccomp } from "./oci-spec.ts";

const words = (text: string) => text.trim().split(/\s+/);

/** Calls that touch only the caller, its files, its sockets, its memory and its children. */
const harmless = words(`
  accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown chown32 clock_adjtime clock_adjtime64
  clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 close close_range connect
  copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
  epoll_wait_old eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate
  fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fork
  fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_requeue futex_time64
  futex_wait futex_waitv futex_wake futimesat getcpu getcwd getdents getdents64 getegid getegid32 geteuid geteuid32 getgid
  getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresgid32
  getresuid getresuid32 getrlimit get_robust_list getrusage getsid getsockname getsockopt get_thread_area gettid gettimeofday
  getuid getuid32 getxattr getxattrat inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel ioctl io_destroy
  io_getevents io_pgetevents io_pgetevents_time64 ioprio_get ioprio_set io_setup io_submit ipc kill landlock_add_rule
  landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat listen listmount listxattr listxattrat
  llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64 madvise map_shadow_stack membarrier memfd_create memfd_secret
  mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 mprotect mq_getsetattr mq_notify mq_open mq_timedreceive
  mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock
  munlockall munmap name_to_handle_at nanosleep newfstatat _newselect open openat openat2 pause pidfd_open pidfd_send_signal pipe
  pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 process_mrelease
  pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recv recvfrom recvmmsg
  recvmmsg_time64 recvmsg remap_file_pages removexattr removexattrat rename renameat renameat2 restart_syscall rmdir rseq
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64
  rt_tgsigqueueinfo sched_getaffinity sched_getattr sched_getparam sched_get_priority_max sched_get_priority_min
  sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam
  sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop semtimedop_time64 send sendfile sendfile64 sendmmsg
  sendmsg sendto setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid setpriority
  setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit set_robust_list setsid setsockopt
  set_thread_area set_tid_address setuid setuid32 setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd
  signalfd4 sigprocmask sigreturn socketcall socketpair splice stat stat64 statfs statfs64 statmount statx symlink symlinkat sync
  sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64
  timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill
  truncate truncate64 ugetrlimit umask uname unlink unlinkat uretprobe utime utimensat utimensat_time64 utimes vfork vmsplice
  wait4 waitid waitpid write writev`);

/** Calls of one architecture only. */
const ofArchitecture: Record<string, string[]> = {
  x64: words("arch_prctl modify_ldt"),
  arm64: words("arm_fadvise64_64 arm_sync_file_range sync_file_range2 breakpoint cacheflush set_tls"),
};

const architectures: Record<string, string[]> = {
  // Without x32, which other runtimes name: next to no kernel has it switched on, and each table costs a start as much as its container's mounts.
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
};

/** Calls that become harmless because the capability that guards them was granted on purpose. */
const byCapability: Record<string, string[]> = {
  CAP_DAC_READ_SEARCH: words("open_by_handle_at"),
  CAP_SYS_ADMIN: words(`bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr
    move_mount open_tree perf_event_open quotactl quotactl_fd setdomainname sethostname setns syslog umount umount2 unshare`),
  CAP_SYS_BOOT: words("reboot"),
  CAP_SYS_CHROOT: words("chroot"),
  CAP_SYS_MODULE: words("delete_module init_module finit_module"),
  CAP_SYS_PACCT: words("acct"),
  CAP_SYS_PTRACE: words("kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace"),
  CAP_SYS_RAWIO: words("iopl ioperm"),
  CAP_SYS_TIME: words("settimeofday stime clock_settime clock_settime64"),
  CAP_SYS_TTY_CONFIG: words("vhangup"),
  CAP_SYS_NICE: words("get_mempolicy mbind set_mempolicy set_mempolicy_home_node"),
  CAP_SYSLOG: words("syslog"),
  CAP_BPF: words("bpf"),
  CAP_PERFMON: words("perf_event_open"),
};

const allow = "SCMP_ACT_ALLOW";
const refuse = "SCMP_ACT_ERRNO";
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x7e020000;
const personalities = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];
const familyVsock = 40;

export function defaultSeccomp(capabilities: readonly string[], arch: string = process.arch): OciSeccomp {
  const granted = capabilities.flatMap((name) => byCapability[name] ?? []);
  const isAdmin = capabilities.includes("CAP_SYS_ADMIN");
  const syscalls: NonNullable<OciSeccomp["syscalls"]> = [
    { names: [...new Set([...harmless, ...(ofArchitecture[arch] ?? []), ...granted])], action: allow },
    ...personalities.map((value) => ({
      names: ["personality"],
      action: allow,
      args: [{ index: 0, value, op: "SCMP_CMP_EQ" }],
    })),
    { names: ["socket"], action: allow, args: [{ index: 0, value: familyVsock, op: "SCMP_CMP_NE" }] },
  ];
  if (!isAdmin) {
    syscalls.push(
      // New namespaces only with the capability; clone3 hides its flags from filters, so C libraries are told to use clone.
      {
        names: ["clone"],
        action: allow,
        args: [{ index: 0, value: namespaceFlags, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
      },
      { names: ["clone3"], action: refuse, errnoRet: 38 },
    );
  }
  return { defaultAction: refuse, defaultErrnoRet: 1, architectures: architectures[arch] ?? [], syscalls };
}

/** The profile a container asks for; none when it is unconfined or says nothing, as other runtimes have it. */
export function seccompFor(
  profile: SecurityProfile | undefined,
  isPrivileged: boolean,
  capabilities: readonly string[],
): OciSeccomp | undefined {
  if (!profile || isPrivileged || profile.profileType === SecurityProfile_ProfileType.Unconfined) return undefined;
  if (profile.profileType === SecurityProfile_ProfileType.RuntimeDefault) return defaultSeccomp(capabilities);
  const path = profile.localhostRef;
  if (!path.startsWith("/"))
    throw new Fault("invalid", `Cannot use seccomp profile "${path}": its path is not absolute`);
  try {
    const parsed = JSON.parse(readFileSync(path, "utf8")) as OciSeccomp;
    if (typeof parsed.defaultAction !== "string") throw new Error("it has no defaultAction");
    return parsed;
  } catch (cause) {
    throw new Fault("invalid", `Cannot use seccomp profile "${path}": ${(cause as Error).message}`, { cause });
  }
}
