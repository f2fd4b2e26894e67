// Counters of network interfaces, from the text of a network namespace's net/dev.

export interface InterfaceCounters {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

const skipped = /^(lo$|veth|docker|nerdctl)/;

/** Loopback and the host's ends of containers' wires are left out. */
export function interfacesIn(text: string): InterfaceCounters[] {
  return text
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const at = line.indexOf(":");
      const name = line.slice(0, Math.max(0, at)).trim();
      if (name === "" || skipped.test(name)) return [];
      const fields = line
        .slice(at + 1)
        .trim()
        .split(/\s+/)
        .map(Number);
      const of = (index: number) => fields[index] ?? 0;
      return [
        {
          name,
          rxBytes: of(0),
          rxPackets: of(1),
          rxErrors: of(2),
          rxDropped: of(3),
          txBytes: of(8),
          txPackets: of(9),
          txErrors: of(10),
          txDropped: of(11),
        },
      ];
    });
}
