# Of the logs of stages: each failed test, and what it said from where it panicked, or else its last lines. A test's line
# begins with its result, and what it said is indented.
BEGIN { most = 12; width = 400 }
function tell(  i, from) {
  if (name == "") return
  print "failed: " name
  from = panicked ? panicked : (count > most ? count - most + 1 : 1)
  for (i = from; i <= count && i < from + most; i++) print substr(said[i], 1, width)
  name = ""
}
/^failed / { tell(); name = $4; count = panicked = 0; next }
/^    / && name != "" {
  said[++count] = $0
  if (!panicked && /panicked at/) panicked = count
  next
}
{ tell() }
END { tell() }
