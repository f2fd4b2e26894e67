// A program of a few instructions that starts the command in its arguments and becomes the parent of whatever that leaves behind: an
// OCI runtime that detaches ends at once, and only a parent learns the exit code of the process it started. It tells of each end on
// its standard output (the pid and the wait status, 32 bits each) and ends after the last. When nobody listens any more, it dies of it.

import {
  arm64,
  elfProgram,
  type Processor,
  type SystemCall,
  words,
  x64,
} from "../../../plugins/kit/os/platform/elf-program.ts";

/** What follows the fork, in the order in which it lies: the child's part up to its execve, and the parent's loop. */
interface Machine {
  readonly processor: Processor;
  readonly becomeParent: SystemCall;
  readonly fork: SystemCall;
  /** So that only this program can speak on its standard output. */
  readonly outputToErrors: SystemCall;
  readonly exit: number;
  /** execve(argv[1], argv + 1, environment), from what the kernel left on the stack. */
  readonly become: Buffer;
  /** Jumps over so many bytes when this is the parent. */
  skipIfParent(bytes: number): Buffer;
  /** Waits for any child, tells of it, begins again; falls through when there is none left. */
  readonly loop: Buffer;
}

const machines: Record<string, Machine> = {
  x64: {
    processor: x64,
    becomeParent: [157, 36, 1, 0, 0, 0],
    fork: [56, 17, 0, 0, 0, 0],
    outputToErrors: [33, 2, 1],
    exit: 60,
    become: Buffer.from(
      "488b7c2410" + // mov rdi, [rsp+16]
        "488d742410" + // lea rsi, [rsp+16]
        "488b0424" + // mov rax, [rsp]
        "488d54c410" + // lea rdx, [rsp+rax*8+16]
        "b83b000000" + // mov eax, execve
        "0f05",
      "hex",
    ),
    // test eax, eax; jnz
    skipIfParent: (bytes) => Buffer.concat([Buffer.from([0x85, 0xc0, 0x0f, 0x85]), words(bytes)]),
    loop: Buffer.from(
      "bfffffffff" + // mov edi, -1
        "488d7424f4" + // lea rsi, [rsp-12]
        "31d2" + // xor edx, edx
        "4531d2" + // xor r10d, r10d
        "b83d000000" + // mov eax, wait4
        "0f05" +
        "85c0" + // test eax, eax
        "7819" + // js past the loop
        "894424f0" + // mov [rsp-16], eax
        "bf01000000" + // mov edi, 1
        "488d7424f0" + // lea rsi, [rsp-16]
        "ba08000000" + // mov edx, 8
        "89f8" + // mov eax, edi: write is call 1
        "0f05" +
        "ebcd", // jmp back
      "hex",
    ),
  },
  arm64: {
    processor: arm64,
    becomeParent: [167, 36, 1, 0, 0, 0],
    fork: [220, 17, 0, 0, 0, 0],
    outputToErrors: [24, 2, 1, 0],
    exit: 93,
    become: words(
      0xf9400be0, // ldr x0, [sp, 16]
      0x910043e1, // add x1, sp, 16
      0xf94003e2, // ldr x2, [sp]
      0x8b226fe2, // add x2, sp, x2, uxtx 3
      0x91004042, // add x2, x2, 16
      0xd2801ba8, // mov x8, execve
      0xd4000001, // svc 0
    ),
    // cbnz x0
    skipIfParent: (bytes) => words(0xb5000000 | ((bytes / 4 + 1) << 5)),
    loop: words(
      0x92800000, // mov x0, -1
      0xd10033e1, // sub x1, sp, 12
      0xd2800002, // mov x2, 0
      0xd2800003, // mov x3, 0
      0xd2802088, // mov x8, wait4
      0xd4000001, // svc 0
      0xb7f80000 | (8 << 5), // tbnz x0, 63, past the loop
      0xb81f03e0, // stur w0, [sp, -16]
      0xd2800020, // mov x0, 1
      0xd10043e1, // sub x1, sp, 16
      0xd2800102, // mov x2, 8
      0xd2800808, // mov x8, write
      0xd4000001, // svc 0
      0x14000000 | (-13 & 0x3ffffff), // b back
    ),
  },
};

/** The program as an ELF file, or undefined for an architecture it was not written for. */
export function reaperProgram(arch: string = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (!machine) return undefined;
  const { processor } = machine;
  const child = Buffer.concat([
    processor.assemble(machine.outputToErrors),
    machine.become,
    processor.assemble([machine.exit, 127]),
  ]);
  const code = [
    processor.assemble(machine.becomeParent),
    processor.assemble(machine.fork),
    machine.skipIfParent(child.length),
    child,
    machine.loop,
    processor.assemble([machine.exit, 0]),
  ];
  return elfProgram(processor, Buffer.alloc(0), Buffer.concat(code));
}
