"""Traffic. One file per kind; `kinds.KINDS` lists them. A load appends requests to the History and judges nothing."""
