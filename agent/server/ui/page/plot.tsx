// A small plot over time; keeps its chart and feeds it new points.

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { tickLabels } from "./words.ts";

interface Series {
  readonly label: string;
  readonly color: string;
  readonly values: readonly number[];
}

interface PlotProps {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly show: (value: number) => string;
  /** Said behind the newest value: what there is in all. */
  readonly of?: string;
  /** Amounts of bytes: lines stand at powers of two. */
  readonly isBytes?: boolean;
}

const powersOfTwo = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** Parts of a thousandth of a core are not shown. */
const wholeNumbers = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

export function Plot({ title, times, series, show, of = "", isBytes = false }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | null>(null);
  const data = [[...times], ...series.map(({ values }) => [...values])] as UPlot.AlignedData;
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const ink = getComputedStyle(box).color;
    const axis = { stroke: ink, grid: { stroke: "#8884", width: 1 }, ticks: { show: false } };
    const made = new UPlot(
      {
        ...size(box),
        legend: { show: false },
        padding: [10, 20, 0, 0],
        cursor: { show: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
        axes: [
          {
            ...axis,
            size: 22,
            space: 66,
            values: (plot, seconds) => tickLabels(seconds, (at) => timeWithin(plot, at)),
          },
          {
            ...axis,
            size: 72,
            values: (_, ticks) => tickLabels(ticks, show),
            incrs: isBytes ? powersOfTwo : wholeNumbers,
          },
        ],
        series: [
          {},
          ...series.map(({ label, color }) => ({
            label,
            stroke: color,
            width: 1.5,
            fill: `${color}22`,
            points: { show: false },
          })),
        ],
      },
      data,
      box,
    );
    chart.current = made;
    const watcher = new ResizeObserver(() => made.setSize(size(box)));
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData(data), [times.at(-1), times.length]);
  const newest = series.map(({ label, values }) => `${label} ${show(values.at(-1) ?? 0)}`).join(" · ");
  const now = of === "" ? newest : `${newest} ${of}`;
  return (
    <section class="card" aria-label={`${title}: ${now}`}>
      <div class="head">
        <strong>{title}</strong>
        <span class="now soft">{now}</span>
      </div>
      <div ref={place} class="plot" data-points={times.length} />
    </section>
  );
}

/** Lower on a phone, where all four stand above each other. */
const size = (box: HTMLElement) => ({ width: box.clientWidth || 300, height: innerWidth <= 640 ? 96 : 130 });

/** Nothing at the very edge, where it would be cut off. */
function timeWithin({ scales }: UPlot, seconds: number): string {
  const { min = 0, max = 0 } = scales.x as { min?: number; max?: number };
  return seconds > max - (max - min) / 12 ? "" : timeOfDay(seconds);
}

function timeOfDay(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}${at.getSeconds() === 0 ? "" : `:${two(at.getSeconds())}`}`;
}
