import { expect, it } from "vitest";

import { alignment, chosenSteps, stepsOf } from "./steps";

const steps = (...numbers: number[]) =>
  stepsOf(
    numbers.map((number, at) => [number, 100 * at, 80]),
    { begin: 0, end: 1 },
  );

it("takes the second step that both have, as long as none is chosen", () => {
  expect(chosenSteps(undefined, steps(4, 5, 6), steps(5, 6, 7))).toEqual({ base: 2, comparison: 1, isChosen: false });
  expect(chosenSteps(undefined, steps(4, 5), steps(5, 6))).toEqual({ base: 1, comparison: 0, isChosen: false });
  expect(chosenSteps(undefined, steps(1, 2), steps(8, 9))).toEqual({ base: 0, comparison: 0, isChosen: false });
  expect(chosenSteps("2,0", steps(4, 5, 6), steps(5))).toEqual({ base: 2, comparison: 0, isChosen: true });
  expect(chosenSteps("2,1", steps(4, 5, 6), steps(5)).isChosen).toBe(false);
});

it("takes a trace without steps as a whole", () => {
  const whole = stepsOf([], { begin: 7, end: 19 });
  expect(whole).toEqual([{ number: null, begin: 7, dur: 12 }]);
  expect(chosenSteps(undefined, whole, steps(1, 2))).toEqual({ base: 0, comparison: 0, isChosen: false });
});

it("moves the base so that both steps begin together, and shows the longer one", () => {
  const moved = alignment({ number: "1", begin: 1000, dur: 40 }, { number: "1", begin: 30, dur: 100 }, 5);
  expect(moved).toEqual({ offset: 35 - 1000, window: { begin: 30, end: 140 } });
});
