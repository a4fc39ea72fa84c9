# Draws scale-hot.svg from scale-hot.csv, in this folder.
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
data = 'scale-hot.csv'
set output 'scale-hot.svg'
set title 'Events that masters can count, by what the table is spread'
set logscale xy 2
set xlabel 'masters'
set ylabel 'million events a second, at most'
set key top left inside vertical Left reverse
plot data using 'masters':'by_id' with linespoints ls 1 title 'by id', \
     data using 'masters':'by_key' with linespoints ls 2 title "by key, keys by Zipf's law", \
     data using 'masters':'hottest' with lines ls 6 dt 2 title 'the master of the most frequent key'
