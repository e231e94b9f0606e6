/* A static program that does nothing: what starting any hook costs at least. */
int main(void) {
    return 0;
}
