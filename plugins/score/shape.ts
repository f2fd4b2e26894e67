// A broken line from how much of something would be used, in percent, to points: how a profile says what it likes.

import { type Check, integer, listOf, object, that } from "../kit/base/config-check.ts";

interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

/** Points of a shape are given from 0 to 10, and scores go to 100. */
const scale = 10;

/** Rising by `utilization`, at least one point. */
export const shapeCheck: Check<readonly ShapePoint[]> = (raw, where) => {
  const point = object({ utilization: integer({ min: 0, max: 100 }), score: integer({ min: 0, max: 10 }) });
  const points = that(listOf(point), (list) => list.length > 0, "a list of at least one point")(raw, where);
  for (let index = 1; index < points.length; index++) {
    const before = points[index - 1]?.utilization ?? 0;
    that(
      integer(),
      (value) => value > before,
      `more than that of the point before, ${before}`,
    )(points[index]?.utilization, `${where}[${index}].utilization`);
  }
  return points;
};

/** What it is worth when this much of so much would be used; more than there is counts as all of it. */
export function pointsByShape(shape: readonly ShapePoint[]): (used: number, most: number) => number {
  const line = shape.map(({ utilization, score }) => ({ at: utilization, points: score * scale }));
  return (used, most) => {
    const at = most === 0 || used > most ? 100 : Math.floor((used * 100) / most);
    const next = line.findIndex((point) => at <= point.at);
    if (next <= 0) return line.at(next)?.points ?? 0;
    const [from, to] = [line[next - 1], line[next]];
    if (!from || !to) return 0;
    return from.points + Math.trunc(((to.points - from.points) * (at - from.at)) / (to.at - from.at));
  };
}
