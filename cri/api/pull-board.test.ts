import t from "tap";
import { PullBoard } from "./pull-board.ts";

t.test("PullBoard adds up the parts of each pull while it goes on", async (t) => {
  const board = new PullBoard();
  t.same(board.list(), []);
  const one = board.begin("a:1");
  const other = board.begin("b:1");
  t.same(board.list()[0], { image: "a:1", bytes: 0, totalBytes: 0 }, "nothing is known yet");
  one.expect("x", 100);
  one.expect("y", 50);
  one.reach("x", 30);
  one.expect("x", 100);
  one.finish("y");
  one.reach("unheard of", 5);
  one.finish("unheard of");
  other.expect("x", 7);
  other.reach("x", 9);
  t.same(board.list(), [
    { image: "a:1", bytes: 80, totalBytes: 150 },
    { image: "b:1", bytes: 7, totalBytes: 7 },
  ]);
  one.reach("x", 10);
  t.equal(board.list()[0]?.bytes, 60, "a download that begins anew is told as it is");
  one.end();
  one.end();
  t.same(
    board.list().map(({ image }) => image),
    ["b:1"],
  );
});
