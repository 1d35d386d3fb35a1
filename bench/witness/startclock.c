// startclock, for machines with a C compiler: see bench/startclock for what it does, and for the same in Go. A Go
// program is busy with itself for a millisecond before its first line; what is measured is Tidewheel.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int main(void) {
	struct timeval now;
	gettimeofday(&now, 0);
	const char *journal = getenv("JOURNAL"), *run = getenv("TIDEWHEEL_RUN_ID"), *slot = getenv("TIDEWHEEL_SLOT");
	if (!journal || !slot) {
		fputs("startclock: JOURNAL and TIDEWHEEL_SLOT must be set\n", stderr);
		return 1;
	}
	char line[512];
	int n = snprintf(line, sizeof line, "%s %s %lld\n", run ? run : "", slot,
	                 (long long)now.tv_sec * 1000000000LL + (long long)now.tv_usec * 1000LL);
	int file = open(journal, O_APPEND | O_WRONLY);
	// One write of less than a page: lines of several processes do not mix.
	if (n >= (int)sizeof line || file < 0 || write(file, line, n) != n) {
		perror("startclock: write the journal");
		return 1;
	}
	return 0;
}
