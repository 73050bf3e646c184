"""Better prompts by measured attempts: rewrite, score, keep the best, confirm it afresh."""
