/* Times libmodsecurity on requests in files, through its C interface: `libmodsecurity CONF FILE...`.
 * Prints for each file its median in microseconds, and whether the rules refuse it. */
#include <modsecurity/modsecurity.h>
#include <modsecurity/rules_set.h>
#include <modsecurity/transaction.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 301

struct field {
    char *name, *value;
};

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

static char *read_file(const char *name, size_t *length) {
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *length = ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    if (fread(text, 1, *length, file) != *length) exit(1);
    text[*length] = 0;
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    const char *error = NULL;
    ModSecurity *engine = msc_init();
    RulesSet *rules = msc_create_rules_set();
    if (count < 3 || msc_rules_add_file(rules, arguments[1], &error) < 0) {
        fprintf(stderr, "the rules cannot be read: %s\n", error ? error : "usage: CONF FILE...");
        return 1;
    }
    for (int nth = 2; nth < count; nth++) {
        size_t length;
        char *text = read_file(arguments[nth], &length);
        char *head_end = strstr(text, "\r\n\r\n");
        char *body = head_end + 4;
        size_t body_length = length - (size_t)(body - text);
        *head_end = 0;
        struct field fields[64];
        int fields_count = 0;
        char *save, *line = strtok_r(text, "\r\n", &save);
        char *method = strtok(line, " "), *target = strtok(NULL, " ");
        while ((line = strtok_r(NULL, "\r\n", &save)) && fields_count < 64) {
            char *colon = strstr(line, ": ");
            *colon = 0;
            fields[fields_count++] = (struct field){line, colon + 2};
        }
        double times[ROUNDS];
        int refused = 0;
        for (int round = 0; round < ROUNDS; round++) {
            double started = now();
            Transaction *transaction = msc_new_transaction(engine, rules, NULL);
            ModSecurityIntervention verdict = {200, 0, NULL, NULL, 0};
            msc_process_connection(transaction, "127.0.0.1", 33333, "127.0.0.1", 80);
            msc_process_uri(transaction, target, method, "1.1");
            for (int at = 0; at < fields_count; at++)
                msc_add_request_header(transaction, (const unsigned char *)fields[at].name,
                                       (const unsigned char *)fields[at].value);
            msc_process_request_headers(transaction);
            refused = msc_intervention(transaction, &verdict);
            if (!refused) {
                if (body_length) msc_append_request_body(transaction, (const unsigned char *)body, body_length);
                msc_process_request_body(transaction);
                refused = msc_intervention(transaction, &verdict);
            }
            free(verdict.log);
            free(verdict.url);
            msc_transaction_cleanup(transaction);
            times[round] = now() - started;
        }
        qsort(times, ROUNDS, sizeof *times, compare);
        printf("%s %.2f %s\n", arguments[nth], times[ROUNDS / 2], refused ? "true" : "false");
        free(text);
    }
    msc_rules_cleanup(rules);
    msc_cleanup(engine);
    return 0;
}
