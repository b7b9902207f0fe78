#!/bin/sh
# A check that answers as a test says: scripted-check.sh PLAN
# The file PLAN holds a letter for each answer: P passes, F fails, W waits until somebody has written another plan. The last letter stays.
while read -r plan <"$1"; do
  rest=${plan#?}
  case $plan in
    W*)
      sleep 0.02
      continue
      ;;
  esac
  if [ -n "$rest" ]; then
    echo "$rest" >"$1.rest"
    mv "$1.rest" "$1"
  fi
  case $plan in
    P*) exit 0 ;;
    *) exit 1 ;;
  esac
done
exit 1
