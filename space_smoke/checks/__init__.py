"""Pure judges: the events of a run in, a Verdict out. `judge.judge_all` is the door; `kinds.KINDS` lists what there is."""
