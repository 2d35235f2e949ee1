"""Tables that add up, and workloads of many questions: what is measured for them, and what is made of it."""
