# Draws scale-failure.svg from scale-failure.csv, in this folder.
set terminal svg size 860,520 font 'Helvetica,14' background 'white'
set datafile separator ','
set datafile missing ''
set key below center horizontal Left reverse samplen 2.5 height 0.5 spacing 1.2
set title font ',16'
set grid lc rgb '#dddddd' lw 1
set border 3 lc rgb '#444444'
set tics nomirror
set style line 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.6
set style line 2 lc rgb '#d55e00' lw 2 pt 5 ps 0.6
set style line 3 lc rgb '#009e73' lw 2 pt 9 ps 0.8
set style line 4 lc rgb '#cc79a7' lw 2 pt 11 ps 0.8
set style line 5 lc rgb '#777777' lw 2 pt 6 ps 0.7
set style line 6 lc rgb '#000000' lw 1.5 pt 4 ps 0.8
data = 'scale-failure.csv'
set output 'scale-failure.svg'
set terminal svg size 860,760 font 'Helvetica,14' background 'white'
set multiplot layout 2,1
set lmargin 10
set xrange [0:90]
set yrange [10:13]
set title '10^{12} events a day: a master dies at 10 s'
set ylabel 'million events acknowledged a second'
plot data using 'second':'fast' with linespoints ls 1 title 'missed after 2 s', \
     data using 'second':'slow' with linespoints ls 2 title 'missed after 15 s'
set title 'Time until 99% are acknowledged'
set logscale y
set yrange [0.1:*]
set format y '%g'
set xlabel 'time (s)'
set ylabel 'milliseconds'
unset key
plot data using 'second':'fast_p99_ms' with linespoints ls 1, \
     data using 'second':'slow_p99_ms' with linespoints ls 2
unset multiplot
